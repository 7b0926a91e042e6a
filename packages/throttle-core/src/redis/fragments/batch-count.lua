-- Adds to several counters of a batch with two commands instead of one for each.
local function batch_counter(key)
  local fields, deltas = {}, {}
  local function add(field, delta)
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
  end
  return add, write
end
