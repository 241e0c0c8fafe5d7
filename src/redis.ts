/**
 * A journal in Redis, for several hosts. Needs the package `redis`.
 * @module
 */
export { createRedisStorage, type RedisStorageOptions } from "./host/redis-storage.js";
export { JournalError, type JournalErrorCode } from "./journal/journal-error.js";
export { createRedisJournal, type RedisJournalOptions } from "./journal/redis-journal.js";
