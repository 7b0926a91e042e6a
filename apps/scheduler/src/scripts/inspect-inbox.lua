-- inspect-inbox: how much waits in the inbox and since when; removes consumers that are long gone.
--
-- Guarantee: a consumer with pending entries is never removed: its entries would be lost with it.
--
-- KEYS  1 inbox stream
-- ARGV  1 group  2 idle time after which a consumer without pending entries is removed (ms)
-- Reply now (ms), entries in the stream, of these pending, id of the oldest|'', consumers removed

local INBOX, group, idle_ms = KEYS[1], ARGV[1], tonumber(ARGV[2])
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
if redis.call('EXISTS', INBOX) == 0 then return { now, 0, 0, '', 0 } end

local first = redis.call('XRANGE', INBOX, '-', '+', 'COUNT', 1)
local oldest = first[1] and first[1][1] or ''
local pending = redis.pcall('XPENDING', INBOX, group)
if pending.err then return { now, redis.call('XLEN', INBOX), 0, oldest, 0 } end

local removed = 0
for _, consumer in ipairs(redis.call('XINFO', 'CONSUMERS', INBOX, group)) do
  local field = {}
  for i = 1, #consumer, 2 do field[consumer[i]] = consumer[i + 1] end
  if field.pending == 0 and field.idle > idle_ms then
    redis.call('XGROUP', 'DELCONSUMER', INBOX, group, field.name)
    removed = removed + 1
  end
end
return { now, redis.call('XLEN', INBOX), pending[1], oldest, removed }
