-- finish: ends a job that holds no request (refused payload, deadline passed while waiting, refused at admission).
--
-- Guarantee: the job ends once and its places (lane, call, reservation, expired lease) are free. A newer delivery
-- or, for delivery 0 (a sweep), a live lease refuses it.
--
-- KEYS  1 job string  2 batch string  3 trail list  4 deadlines zset  5 wheel zset  6 batches zset
-- The job's host is known by its ledger only, so that host's keys are named here, under the same hash tag.
-- ARGV  1 key prefix  2 job  3 batch  4 delivery (0: a sweep)  5 done|stop reason  6 evidence  7 time (ms; '': Redis TIME)
--       8 ms an ended ledger is kept
-- Reply finished|already|stale, end|'', called jobs...
-- Untouched on already and stale: everything.

-- @include clock
-- @include packed
-- @include pace
-- @include host-state
-- @include admissible
-- @include calling
-- @include ledger
-- @include batch-state
-- @include ending

local prefix, job, delivery, finish = ARGV[1], ARGV[2], tonumber(ARGV[4]), ARGV[5]
local now = clock(ARGV[7])
local j = ledger_read(KEYS[1])
if j.e ~= '' then return { 'already', j.e } end
if delivery > 0 and (delivery < j.v or (j.meta.known and j.b ~= ARGV[3])) then return { 'stale', '' } end
if delivery == 0 and j.l ~= '' and j.lu > now then return { 'stale', '' } end
local b = batch_read(KEYS[2])
if not b.meta.known then batch_adopt(b, KEYS[6], ARGV[3], now) end
if not j.meta.known then
  -- Refused before it was ever entered: recorded, so that a repeated delivery finds its end.
  j.b, j.t, j.h = ARGV[3], now, '-'
  b.jobs = b.jobs + 1
end
if j.l ~= '' then redis.call('ZREM', prefix .. ':leases:' .. j.lh, j.l) end
local part = j.wl ~= '' and j.wl or j.l ~= '' and j.lh or j.h
redis.call('ZREM', prefix .. ':called:' .. part, job)
local keep_ms = tonumber(ARGV[8])
end_job(j, b, job, prefix, KEYS[3], now, finish, ARGV[6], keep_ms)
batch_write(b, keep_ms)

local list = {}
local keys = host_keys(prefix, part)
local h = host_read(keys.host)
if h.meta.known then call_host(h, part, keys, now, 64, false, list) end
local answer = { 'finished', finish }
for i = 1, #list do answer[2 + i] = list[i] end
return answer
