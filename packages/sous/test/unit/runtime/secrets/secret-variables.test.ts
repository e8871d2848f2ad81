/** Variables that hold a secret, and variables that only sound as if they did. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { PROVIDERS } from "../../../../src/runtime/model/providers.ts";
import { secretsOf } from "../../../../src/runtime/secrets/variables.ts";
import { randomText } from "../../../support/runtime/secrets/made-up-keys.ts";

const VALUE = randomText("a variable", 24);

suite("B3.3: the variables of the environment", () => {
  test("variables of the environment that hold the key of a provider are secrets, all of them", () => {
    const names = Object.values(PROVIDERS).flatMap(({ keys }) => keys);
    assert.ok(names.length >= 12);
    for (const name of names) assert.deepEqual(secretsOf({ [name]: VALUE }), [{ name, value: VALUE }]);
  });

  const secret =
    `STRIPE_SECRET AWS_SECRET_ACCESS_KEY SECRET_KEY_BASE DB_PASSWORD MYSQL_PWD PGPASSWORD SSHPASS ADMIN_PASSWD SSH_PASSPHRASE
    NPM_TOKEN CI_JOB_TOKEN GOOGLE_CREDENTIALS REDIS_AUTH SESSION_COOKIE JWT_SIGNING_KEY GITLAB_PAT apiKey myAuthToken db.password
    npm_config_//registry.npmjs.org/:_authToken APIKEY X_API_KEY_2 AWS_BEARER_TOKEN_BEDROCK`.split(/\s+/);
  for (const name of secret) {
    test(`variables of the environment are secret by their name: ${name}`, () => {
      assert.deepEqual(secretsOf({ [name]: ` ${VALUE}\n` }), [{ name, value: VALUE }]);
    });
  }

  const ordinary = `KEYBOARD MONKEY TOKENIZERS_PARALLELISM AUTHOR GIT_AUTHOR_NAME XAUTHORITY BYPASS COMPASS PATH MANPATH
    SSH_KEY_FILE SSH_AUTH_SOCK AWS_ACCESS_KEY_ID GOOGLE_CLIENT_ID API_KEY_HEADER_NAME TOKEN_TYPE AUTH_METHOD PASSWORD_LENGTH
    KEY_PATH npm_config_cache npm_package_config_api_key npm_lifecycle_event SECRET_NAME COOKIE_TTL TERM HOME`.split(
    /\s+/,
  );
  for (const name of ordinary) {
    test(`variables of the environment are not secret by their name: ${name}`, () => {
      assert.deepEqual(secretsOf({ [name]: VALUE }), []);
    });
  }

  const values: readonly string[] = [
    "",
    "short",
    "true",
    "false",
    "disabled",
    "postgres",
    "changeme",
    "1234567890",
    "2026-08-31",
    "/run/user/1000/keyring/ssh",
    "/etc/ssl/private/server.key",
    "~/.ssh/id_ed25519",
    "C:\\Users\\bob\\key.pem",
    "./secrets/token.txt",
    "localhost:8080",
    "https://auth.example.com/oauth2/token",
    "ANTHROPIC_API_KEY",
  ];
  for (const value of values) {
    test(`variables of the environment are not secret when their value is ${JSON.stringify(value)}`, () => {
      assert.deepEqual(secretsOf({ MY_KEY: value, MY_AUTH: value }), []);
    });
  }

  test("variables of the environment are secret although their value looks a little like a path or a word", () => {
    const key = `/${randomText("aws secret", 20)}/${randomText("aws secret, too", 18)}`;
    const passphrase = "abcdefghijklmnop";
    assert.deepEqual(secretsOf({ A_SECRET: key, B_PASS: passphrase, C_PASS: "pass1word" }), [
      { name: "A_SECRET", value: key },
      { name: "B_PASS", value: passphrase },
      { name: "C_PASS", value: "pass1word" },
    ]);
  });

  test("variables of the environment that are headers are secret in their values, as they are written and as they are sent", () => {
    const name = "OTEL_EXPORTER_OTLP_HEADERS";
    const found = secretsOf({ [name]: `authorization=Basic%20${VALUE},x-scope=team` });
    assert.deepEqual(
      found.map(({ value }) => value),
      [`Basic%20${VALUE}`, `Basic ${VALUE}`, VALUE],
    );
  });

  test("variables of the environment that are addresses are secret in their password alone, as it is written and as it is meant", () => {
    const environment = {
      DATABASE_URL: "postgres://bob:hunter2%2Fhunter2@db.example/app",
      HTTPS_PROXY: "http://bob:proxy-pass-1@proxy:8080",
      AUTH_URL: "https://bob:url-pass-1@a.example",
      AZURE_STORAGE_CONNECTION_STRING: `DefaultEndpointsProtocol=https;AccountName=a;AccountKey=${VALUE}==;EndpointSuffix=b`,
      BROKER_URL: "amqp://bob:100%-secret-1@mq.example",
      OTHER_URL: "https://a.example/path?x=1",
      PLAIN_REGISTRY: "registry.example",
    };
    assert.deepEqual(secretsOf(environment), [
      { name: "DATABASE_URL", value: "hunter2%2Fhunter2" },
      { name: "DATABASE_URL", value: "hunter2/hunter2" },
      { name: "HTTPS_PROXY", value: "proxy-pass-1" },
      { name: "AUTH_URL", value: "url-pass-1" },
      { name: "AZURE_STORAGE_CONNECTION_STRING", value: `${VALUE}==` },
      { name: "BROKER_URL", value: "100%-secret-1" },
    ]);
  });

  test("variables of the environment that hold several secrets are secret one by one", () => {
    const other = randomText("another variable", 24);
    const name = "API_KEYS";
    assert.deepEqual(secretsOf({ [name]: `${VALUE}, ${other}` }), [
      { name, value: `${VALUE}, ${other}` },
      { name, value: VALUE },
      { name, value: other },
    ]);
  });
});
