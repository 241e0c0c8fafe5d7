import { z } from "zod";
import type { ThreadStore } from "../core/thread.js";
import type { RedisConnection } from "./redis-connection.js";
import type { RedisKeys } from "./redis-keys.js";

const checkpoint = z.object({ driver: z.string(), workspace: z.string(), session: z.string() });

/** Keeps checkpoints beside a journal. @param retentionMs how long one is kept that nobody goes on from */
export function redisThreadStore(
  connection: RedisConnection,
  keys: RedisKeys,
  retentionMs: number,
): ThreadStore {
  return {
    async get(thread) {
      const json = await connection.command(["GET", keys.checkpoint(thread)]);
      return typeof json === "string" ? checkpoint.parse(JSON.parse(json)) : undefined;
    },
    async set(thread, value) {
      const json = JSON.stringify(checkpoint.parse(value));
      await connection.command(["SET", keys.checkpoint(thread), json, "PX", String(retentionMs)]);
    },
  };
}
