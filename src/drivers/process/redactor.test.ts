import { expect, test } from "vitest";
import { createRedactor, isSecretName } from "./redactor.js";

test("hides a header's value and the credential inside it, also as JSON", () => {
  const redact = createRedactor(["Bearer s3cret-token-1", 'quo"ted-secret']);
  expect(redact("a Bearer s3cret-token-1 b s3cret-token-1 c")).toBe("a [redacted] b [redacted] c");
  expect(redact(JSON.stringify({ value: 'quo"ted-secret' }))).toBe('{"value":"[redacted]"}');
});

test("a secret that contains another one goes as a whole", () => {
  expect(createRedactor(["abcdefgh", "abcdefgh-ijkl"])("abcdefgh-ijkl abcdefgh")).toBe(
    "[redacted] [redacted]",
  );
});

test("leaves short values alone, which would tear every text apart", () => {
  expect(createRedactor(["", "no", "Basic x"])("no Basic answer")).toBe("no Basic answer");
});

test("knows names of credentials", () => {
  expect(["ANTHROPIC_API_KEY", "GH_TOKEN", "Authorization", "DB_PASSWORD"].every(isSecretName)).toBe(true);
  expect(["PATH", "HOME", "LANG"].some(isSecretName)).toBe(false);
});
