-- A host's hash as a table: read once, changed through host_set and, for the learner, in h.pace; written once,
-- and only what changed.
local HOST_NUMBERS = {
  'cap', 'cooldown', 'generation', 'openUntil', 'opens', 'responses', 'events', 'probeUntil', 'epoch', 'noHint',
  'interval', 'latency', 'serial', 'freshUntil',
}
local HOST_TEXTS = { 'circuit', 'hold', 'probe', 'tokens', 'override' }

local function host_columns()
  local columns = { unpack(HOST_NUMBERS) }
  for _, name in ipairs(HOST_TEXTS) do columns[#columns + 1] = name end
  for _, name in ipairs(pace_fields()) do columns[#columns + 1] = name end
  return columns
end

local function host_read(key)
  local v = redis.call('HMGET', key, unpack(host_columns()))
  local h = { key = key, known = v[1] and true or false, out = {}, written = 0 }
  local count = #HOST_NUMBERS
  for i = 1, count do h[HOST_NUMBERS[i]] = tonumber(v[i] or 0) end
  h.circuit, h.hold, h.probe = v[count + 1] or 'closed', v[count + 2], v[count + 3] or ''
  h.tokens, h.override = tonumber(v[count + 4] or nil), v[count + 5]
  h.pace = pace_read({ unpack(v, count + #HOST_TEXTS + 1) })
  h.paceBefore = {}
  for name, value in pairs(h.pace) do h.paceBefore[name] = value end
  return h
end

local function host_set(h, field, value)
  if h[field] == value then return end
  h[field] = value
  h.out[h.written + 1] = field
  h.out[h.written + 2] = value
  h.written = h.written + 2
end

-- A host that nobody asks about any more vanishes, but never before its cooldown or what it learned.
-- The TTL is renewed at most once an hour: renewing costs a command.
local HOUR_MS, DAY_MS = 3600000, 86400000
local function host_write(h, now, keep_ms)
  local renew = not h.hold and h.freshUntil <= now
  if renew then host_set(h, 'freshUntil', now + HOUR_MS) end
  local n = h.written
  for name, value in pairs(h.pace) do
    if h.paceBefore[name] ~= value then
      h.out[n + 1] = 'pace:' .. name
      h.out[n + 2] = value
      n = n + 2
    end
  end
  if n > 0 then redis.call('HSET', h.key, unpack(h.out, 1, n)) end
  if renew then
    redis.call('PEXPIRE', h.key, math.ceil(math.max(keep_ms, h.cooldown - now, h.openUntil - now)) + DAY_MS)
  end
end

local function host_tokens(h, r)
  if not r.tokenPerSuccess then return nil end
  return h.tokens or r.tokenStart
end
