-- read-inbox: takes entries of the inbox for one consumer: first those that another one has left lying, then new ones.
--
-- Guarantee: what is taken stays pending for this consumer until it is acknowledged. The reply is bounded: of an entry
-- that is too large only its beginning is told, whatever a producer has put there. Creates the group, at the
-- beginning of the stream, so that what was added before the first scheduler started counts too.
--
-- KEYS  1 inbox stream (no TTL)
-- ARGV  1 group  2 consumer  3 entries max  4 idle time after which a pending entry is taken over (ms)
--       5 bytes of an entry max  6 fields of an entry max  7 where the look for abandoned entries goes on ('0-0')
-- Reply now (ms), where that look goes on next time, entries: id, times delivered, bytes, 1 too large|0, fields
-- Untouched: the entries themselves.

local INBOX = KEYS[1]
local group, consumer, entries_max, idle_ms = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4]
local bytes_max, fields_max, cursor = tonumber(ARGV[5]), tonumber(ARGV[6]), ARGV[7]
local SHOWN_BYTES = 512

local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)

local function bounded(id, deliveries, fields)
  local bytes = 0
  for i = 1, #fields do bytes = bytes + #fields[i] end
  if bytes <= bytes_max and #fields <= 2 * fields_max then return { id, deliveries, bytes, 0, fields } end
  local shown, left = {}, SHOWN_BYTES
  for i = 1, math.min(#fields, 16) do
    shown[i] = string.sub(fields[i], 1, left)
    left = left - #shown[i]
    if left <= 0 then break end
  end
  return { id, deliveries, bytes, 1, shown }
end

local function claim()
  return redis.pcall('XAUTOCLAIM', INBOX, group, consumer, idle_ms, cursor, 'COUNT', entries_max)
end

local claimed = claim()
if claimed.err then
  if string.sub(claimed.err, 1, 7) ~= 'NOGROUP' then return claimed end
  redis.call('XGROUP', 'CREATE', INBOX, group, '0', 'MKSTREAM')
  claimed = claim()
  if claimed.err then return claimed end
end

local entries = {}
for _, entry in ipairs(claimed[2]) do
  local pending = redis.call('XPENDING', INBOX, group, entry[1], entry[1], 1)
  local deliveries = pending[1] and pending[1][4] or 1
  -- A deleted entry may still be pending on servers that do not clean up by themselves.
  if entry[2] then
    entries[#entries + 1] = bounded(entry[1], deliveries, entry[2])
  else
    redis.call('XACK', INBOX, group, entry[1])
  end
end
if #entries < entries_max then
  local new = redis.call('XREADGROUP', 'GROUP', group, consumer, 'COUNT', entries_max - #entries, 'STREAMS', INBOX, '>')
  if new then
    for _, entry in ipairs(new[1][2]) do entries[#entries + 1] = bounded(entry[1], 1, entry[2]) end
  end
end
return { now, claimed[1], entries }
