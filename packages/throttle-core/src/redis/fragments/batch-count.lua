-- Adds to several counters of a batch with two commands instead of one for each.
local function batch_counter(key, keep_ms)
  local fields, deltas = {}, {}
  local ending = false
  local function add(field, delta)
    ending = ending or field == 'done' or field == 'stopped'
    if delta == 0 then return end
    fields[#fields + 1] = field
    deltas[#deltas + 1] = delta
  end
  local function write()
    if #fields == 0 then return end
    local have = redis.call('HMGET', key, unpack(fields))
    local out = {}
    for i = 1, #fields do
      out[i * 2 - 1] = fields[i]
      out[i * 2] = tonumber(have[i] or 0) + deltas[i]
    end
    redis.call('HSET', key, unpack(out))
    if ending then
      -- A batch all of whose jobs have ended is kept as long as their ledgers; new jobs make it stay (enter).
      local n = redis.call('HMGET', key, 'jobs', 'done', 'stopped')
      if tonumber(n[2] or 0) + tonumber(n[3] or 0) >= tonumber(n[1] or 0) then redis.call('PEXPIRE', key, keep_ms) end
    end
  end
  return add, write
end
