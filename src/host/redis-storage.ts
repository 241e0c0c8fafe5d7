import type { ThreadEvent } from "../bridges/agui/event.js";
import { systemClock } from "../core/clock.js";
import { logText } from "../core/log-text.js";
import type { ArtifactStore, StoredArtifact } from "../delegation/artifacts.js";
import { RedisConnection } from "../journal/redis-connection.js";
import { RedisFiles } from "../journal/redis-files.js";
import { RedisJournal, type RedisJournalOptions } from "../journal/redis-journal.js";
import { RedisKeys } from "../journal/redis-keys.js";
import { redisThreadStore } from "../journal/redis-thread-store.js";
import type { DurableStorage } from "./durable-storage.js";

/** Options of {@link createRedisStorage}. */
export interface RedisStorageOptions extends Omit<RedisJournalOptions, "onDropped"> {}

const RETENTION_MS = 30 * 24 * 3_600_000;

/**
 * Keeps all that a host keeps in Redis, for any number of hosts. Needs the package `redis`.
 * @throws JournalError which says what to do.
 */
export async function createRedisStorage(options: RedisStorageOptions): Promise<DurableStorage> {
  const {
    url,
    prefix = "troupe",
    outageMs = 30_000,
    clock = systemClock,
    retentionMs = RETENTION_MS,
  } = options;
  const keys = new RedisKeys(prefix);
  const connection = await RedisConnection.open({ url, outageMs, clock });
  // A file must be there as long as the thread that names it, whose time begins when its last run ends.
  const files = new RedisFiles(connection, keys, retentionMs * 2);
  const journal = new RedisJournal<ThreadEvent>(connection, keys, {
    ...options,
    onDropped: (delegationIds) => {
      files
        .drop(delegationIds)
        .catch((error: unknown) =>
          console.error("Artifacts of old delegations were not deleted:", logText(error)),
        );
    },
  });
  return {
    journal,
    artifacts: artifactStore(files),
    threads: redisThreadStore(connection, keys, retentionMs * 2),
  };
}

function artifactStore(files: RedisFiles): ArtifactStore {
  return {
    put: (delegationId, { description, bytes }) =>
      files.put(
        delegationId,
        { id: description.id, description: JSON.stringify(description), sha256: description.sha256 },
        bytes,
      ),
    async get(delegationId, wanted) {
      const kept = await files.list(delegationId);
      const described = kept.map(
        ({ description }) => JSON.parse(description) as StoredArtifact["description"],
      );
      const description =
        described.find(({ id }) => id === wanted) ?? described.find(({ name }) => name === wanted);
      const bytes = description === undefined ? undefined : await files.bytes(description.sha256);
      return description === undefined || bytes === undefined ? undefined : { description, bytes };
    },
  };
}
