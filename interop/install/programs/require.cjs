const { agent, run } = require("sous");
const { says, scriptedModel } = require("sous/testing");

const lead = agent({ name: "lead", model: scriptedModel({ lead: [says("Required.")] }) });
run(lead, "Go.").then(({ text }) => console.log(text));
