/** The package in a program of CommonJS. */

console.log(typeof require("sous").run, typeof require("sous/testing").scriptedModel);
