-- Creates a batch that does not exist yet, from ARGV[i..]: mode, share, least, fixed, approved 0|1, owner,
-- deadline ms, bytes max, requests max, cost max. Returns it as batch_read does.
local BATCH_DEFAULTS = 10
local function batch_create(key, index, batch, i, now)
  local b = batch_read(key)
  if b.known then return b, false end
  redis.call('HSET', key, 'mode', ARGV[i], 'share', ARGV[i + 1], 'least', ARGV[i + 2], 'fixed', ARGV[i + 3],
    'approved', ARGV[i + 4], 'owner', ARGV[i + 5], 'deadline', ARGV[i + 6], 'bytesMax', ARGV[i + 7],
    'requestsMax', ARGV[i + 8], 'costMax', ARGV[i + 9], 'created', now)
  redis.call('ZADD', index, 0, batch)
  return batch_read(key), true
end
