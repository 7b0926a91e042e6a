-- claim-run: one run of a schedule begins.
--
-- Guarantee: of several that saw the same earlier run, one begins; the place in the queue that it held becomes free.
--
-- KEYS  1 hash of runs: NAME -> its latest run, NAME:queued -> the batch that waits for it (no TTL: one field each)
-- ARGV  1 name  2 the latest run as it was read, empty: none  3 the run that begins  4 its batch
-- Reply 1 begun  0 another one began meanwhile: nothing is changed

local runs, name, seen, run, batch = KEYS[1], ARGV[1], ARGV[2], ARGV[3], ARGV[4]

if (redis.call('HGET', runs, name) or '') ~= seen then
  return 0
end
redis.call('HSET', runs, name, run)
if redis.call('HGET', runs, name .. ':queued') == batch then
  redis.call('HDEL', runs, name .. ':queued')
end
return 1
