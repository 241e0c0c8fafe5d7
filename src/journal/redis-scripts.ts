import { createHash } from "node:crypto";

/** A script that runs as one step on the server. */
export interface RedisScript {
  readonly source: string;
  readonly sha: string;
  /** How many of its arguments are keys. */
  readonly keys: number;
}

function script(keys: number, source: string): RedisScript {
  return { source, keys, sha: createHash("sha1").update(source).digest("hex") };
}

/**
 * Appends a batch to a thread, keeps its index, and trims whole ended runs from the beginning of a thread that became too long.
 * A batch that was written before is not written again: a writer that lost its connection cannot know.
 *
 * Some entries are refused, and the others of the batch written: the start of a run while another owner's is open (`busy`), and
 * what the owner has lost (`taken`): such a run, and whatever another owner has taken over since.
 *
 * Keys: entries, state, spans, starts, runStarts, open.
 * Arguments: owner, number of the batch, entries kept, milliseconds kept after the last end, channel, thread; then for each entry
 * its run, time, type, JSON, mark (`start`, `end` or nothing) and delegation.
 * Answers the first cursor, the delegations that were trimmed, and the place in the batch and the reason of each refusal.
 */
export const APPEND = script(
  6,
  `
local entries, state, spans, starts, runs, open = unpack(KEYS)
local owner, number, keep, retention = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4]
local known = redis.call('HGET', state, 'number:' .. owner)
if known and tonumber(known) >= tonumber(number) then
  local before = redis.call('HGET', state, 'refused:' .. owner)
  return { redis.call('HGET', state, 'cursor:' .. owner), {}, before and cjson.decode(before) or {} }
end
local lost = redis.call('HEXISTS', state, 'lost:' .. owner) == 1
local function mark_of(run, delegation)
  return 'lost:' .. owner .. ':' .. cjson.encode({ run, delegation })
end
local function is_lost(run, delegation)
  return redis.call('HEXISTS', state, mark_of(run, delegation)) == 1
end
local function refusal(run, mark, delegation)
  if mark ~= 'start' or delegation ~= '' then
    local no = lost and (is_lost(run, '') or (delegation ~= '' and is_lost(run, delegation)))
    return no and 'taken' or nil
  end
  for _, at in ipairs(redis.call('HVALS', open)) do
    local span = cjson.decode(redis.call('HGET', spans, at))
    if not span.delegationId and span.owner ~= owner then
      redis.call('HSET', state, 'lost:' .. owner, 1, mark_of(run, ''), 1)
      lost = true
      return 'busy'
    end
  end
  if lost then redis.call('HDEL', state, mark_of(run, '')) end
  return nil
end
local refused = {}
local head = tonumber(redis.call('HGET', state, 'head') or '0')
local first = head + 1
local turned = false
for i = 7, #ARGV, 6 do
  local run, time, kind, json, mark, delegation = ARGV[i], ARGV[i+1], ARGV[i+2], ARGV[i+3], ARGV[i+4], ARGV[i+5]
  local no = (lost or mark == 'start') and refusal(run, mark, delegation)
  if no then
    table.insert(refused, { (i - 7) / 6, no })
  else
    head = head + 1
    redis.call('XADD', entries, head .. '-0', 'r', run, 't', time, 'e', json)
  end
  if mark ~= '' and not no then
    local name = cjson.encode({ run, delegation })
    if mark == 'start' then
      local span = { runId = run, first = head, owner = owner }
      if delegation ~= '' then span.delegationId = delegation end
      redis.call('HSET', spans, head, cjson.encode(span))
      redis.call('ZADD', starts, head, head)
      redis.call('HSET', open, name, head)
      if delegation == '' then redis.call('ZADD', runs, head, head) turned = true end
    else
      local at = redis.call('HGET', open, name)
      if at then
        local span = cjson.decode(redis.call('HGET', spans, at))
        span.last = head
        redis.call('HSET', spans, at, cjson.encode(span))
        redis.call('HDEL', open, name)
      end
      if delegation == '' then turned = true end
    end
  end
end
redis.call('HSET', state, 'head', head, 'number:' .. owner, number, 'cursor:' .. owner, first)
if #refused > 0 then
  redis.call('HSET', state, 'refused:' .. owner, cjson.encode(refused))
else
  redis.call('HDEL', state, 'refused:' .. owner)
end
local dropped = {}
if turned then
  local from = tonumber(redis.call('HGET', state, 'first') or '1')
  while head - from + 1 > keep do
    local nexts = redis.call('ZRANGEBYSCORE', runs, '(' .. from, '+inf', 'LIMIT', 0, 1)
    if #nexts == 0 then break end
    local cut = tonumber(nexts[1])
    local busy = false
    for _, at in ipairs(redis.call('HVALS', open)) do if tonumber(at) < cut then busy = true end end
    if busy then break end
    for _, at in ipairs(redis.call('ZRANGEBYSCORE', starts, '-inf', '(' .. cut)) do
      local span = cjson.decode(redis.call('HGET', spans, at))
      if span.delegationId then table.insert(dropped, span.delegationId) end
      redis.call('HDEL', spans, at)
    end
    redis.call('ZREMRANGEBYSCORE', starts, '-inf', '(' .. cut)
    redis.call('ZREMRANGEBYSCORE', runs, '-inf', '(' .. cut)
    redis.call('HSET', state, 'first', cut)
    redis.call('XTRIM', entries, 'MINID', cut .. '-0')
    from = cut
  end
end
local idle = redis.call('HLEN', open) == 0
for _, key in ipairs(KEYS) do
  if idle then redis.call('PEXPIRE', key, retention) else redis.call('PERSIST', key) end
end
redis.call('PUBLISH', ARGV[5], ARGV[6])
return { tostring(first), dropped, refused }
`,
);

/**
 * What a reader needs next. Keys: entries, state. Arguments: cursor, batch, rows of a merged batch, when to merge.
 * Answers head, first cursor, and the rows.
 */
export const READ = script(
  2,
  `
local head = tonumber(redis.call('HGET', KEYS[2], 'head') or '0')
local first = tonumber(redis.call('HGET', KEYS[2], 'first') or '1')
local after = tonumber(ARGV[1])
if after > head then after = 0 end
local rows = ARGV[2]
if head - after > tonumber(ARGV[4]) then rows = ARGV[3] end
local from = math.max(after, first - 1)
if from >= head then return { tostring(head), tostring(first), {} } end
return { tostring(head), tostring(first), redis.call('XRANGE', KEYS[1], '(' .. from .. '-0', '+', 'COUNT', rows) }
`,
);

/** The owners of what is open in a thread. Keys: spans, open. */
export const OWNERS = script(
  2,
  `
local owners = {}
for _, at in ipairs(redis.call('HVALS', KEYS[2])) do
  table.insert(owners, cjson.decode(redis.call('HGET', KEYS[1], at)).owner)
end
return owners
`,
);

/**
 * Gives what is open in a thread and belongs to owners that are gone to another one, each of it to one alone. Should the old one
 * come back, it can write no more of it. A look that is repeated, because its answer was lost, gets the same answer.
 * Keys: spans, open, state. Arguments: the new owner, the name of its look, then those that are gone. Answers the spans as JSON.
 */
export const ADOPT = script(
  3,
  `
local gone = {}
for i = 3, #ARGV do gone[ARGV[i]] = true end
local taken = {}
for _, at in ipairs(redis.call('HVALS', KEYS[2])) do
  local span = cjson.decode(redis.call('HGET', KEYS[1], at))
  if gone[span.owner] then
    local name = cjson.encode({ span.runId, span.delegationId or '' })
    redis.call('HSET', KEYS[3], 'lost:' .. span.owner, 1, 'lost:' .. span.owner .. ':' .. name, 1)
    span.owner = ARGV[1]
    span.look = ARGV[2]
    local json = cjson.encode(span)
    redis.call('HSET', KEYS[1], at, json)
    table.insert(taken, json)
  elseif span.look == ARGV[2] then
    table.insert(taken, cjson.encode(span))
  end
end
return taken
`,
);

/** A thread may have something open from now on. Key: open threads, by the server's time. Argument: the thread. */
export const OPENED = script(1, `redis.call('ZADD', KEYS[1], redis.call('TIME')[1], ARGV[1])`);

/**
 * A thread has nothing open. It stays among those that may have when somebody said so of it just now, and is still about to write.
 * Key: open threads. Arguments: the thread, and how many milliseconds that may take.
 */
export const CLOSED = script(
  1,
  `
local since = redis.call('ZSCORE', KEYS[1], ARGV[1])
if since and redis.call('TIME')[1] - since > ARGV[2] / 1000 then redis.call('ZREM', KEYS[1], ARGV[1]) end
`,
);
