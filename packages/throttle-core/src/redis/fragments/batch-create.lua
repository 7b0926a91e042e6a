-- Creates a batch that does not exist yet, from ARGV[i..]: mode, share, least, fixed, approved 0|1, owner,
-- deadline ms, bytes max, requests max, cost max. Not written yet.
local BATCH_DEFAULTS = 10
local function batch_create(key, index, batch, i, now)
  local b = batch_read(key)
  if b.meta.known then return b, false end
  local function number(offset) return tonumber(ARGV[i + offset]) end
  b.mode, b.share, b.least, b.fixed = ARGV[i], number(1), number(2), number(3)
  b.approved, b.owner, b.deadline = number(4), ARGV[i + 5], number(6)
  b.bytesMax, b.requestsMax, b.costMax, b.created = number(7), number(8), number(9), now
  redis.call('ZADD', index, 0, batch)
  return b, true
end
