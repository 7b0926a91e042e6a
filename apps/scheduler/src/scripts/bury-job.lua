-- bury-job: takes a job that nobody can read out of the queue and keeps what it was, raw, in the stream of the dead.
--
-- Guarantee: copy and removal happen together, and only if the job still is what was judged: a job that was repaired
-- or replaced in between stays.
--
-- KEYS  1 job hash  2 job lock  3 dead stream (trimmed to about ARGV 3 entries)  4 active  5 wait  6 paused
--       7 prioritized  8 delayed  9 stalled
-- ARGV  1 job id  2 reason  3 entries kept  4 raw bytes kept of each field
--       5 sha1 of data as judged  6 sha1 of opts as judged ('' for a field that is absent)
-- Reply 1 buried | 0 changed or gone
-- Untouched on 0: everything.

local id, reason, kept, raw_max = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
if redis.call('TYPE', KEYS[1]).ok ~= 'hash' then return 0 end

local function digest(value) return value and redis.sha1hex(value) or '' end
local raw = redis.call('HMGET', KEYS[1], 'data', 'opts', 'name')
if digest(raw[1]) ~= ARGV[5] or digest(raw[2]) ~= ARGV[6] then return 0 end

local function cut(value) return value and string.sub(value, 1, raw_max) or '' end
redis.call('XADD', KEYS[3], 'MAXLEN', '~', kept, '*', 'id', id, 'reason', reason, 'name', cut(raw[3]),
  'data', cut(raw[1]), 'opts', cut(raw[2]), 'data_bytes', raw[1] and #raw[1] or 0, 'opts_bytes', raw[2] and #raw[2] or 0)
for i = 4, 6 do redis.call('LREM', KEYS[i], 0, id) end
for i = 7, 8 do redis.call('ZREM', KEYS[i], id) end
redis.call('SREM', KEYS[9], id)
redis.call('DEL', KEYS[1], KEYS[2])
return 1
