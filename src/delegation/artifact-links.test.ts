import { describe, expect, it } from "vitest";
import { ArtifactLinks } from "./artifact-links.js";

const tokenOf = (url: string) => url.slice(url.lastIndexOf("/") + 1);

describe("links to artifacts", () => {
  it("lead to one file, until the delegation that got them is over", () => {
    const links = new ArtifactLinks("https://host.example/shared/");
    const file = { delegationId: "del-1", artifactId: "a" };
    const url = links.issue("del-2", file);
    const other = links.issue("del-3", file);
    expect(url).toMatch(/^https:\/\/host\.example\/shared\/[\w-]{43}$/);
    expect(links.find(tokenOf(url))).toMatchObject(file);
    links.revoke("del-2");
    expect(links.find(tokenOf(url))).toBeUndefined();
    expect(links.find(tokenOf(other))).toMatchObject(file);
    expect(links.find("")).toBeUndefined();
  });

  it("keep no token", () => {
    const links = new ArtifactLinks("https://h/");
    const url = links.issue("del-2", { delegationId: "del-1", artifactId: "a" });
    const kept: unknown[] = [];
    for (const member of Object.values(links)) kept.push(member);
    expect(JSON.stringify(kept)).not.toContain(tokenOf(url));
  });
});
