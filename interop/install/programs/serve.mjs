import { createServer } from "node:http";

/** Answers every request with the JSON of what `answer` gives. */
export function serve(answer) {
  createServer((_, response) => {
    answer().then(
      (value) => response.end(JSON.stringify(value)),
      (error) => response.writeHead(500).end(String(error?.stack ?? error)),
    );
  }).listen(Number(process.env.PORT), "127.0.0.1");
}
