-- A batch that nobody described: no tokens, approved, so that its jobs are counted and can be reported.
local function batch_adopt(key, index, batch, now)
  redis.call('HSET', key, 'mode', 'off', 'approved', 1, 'created', now)
  redis.call('ZADD', index, 0, batch)
end
