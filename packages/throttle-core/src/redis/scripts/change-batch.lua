-- change-batch: approves, cancels or tops up a batch. Idempotent: by state, and a top-up by its nonce.
--
-- KEYS  1 batch hash  2 reply string of the nonce; TTL 1 day
-- ARGV  1 approve|cancel|top_up  2 by  3 tokens (whole, at least 0)
-- Reply 1, or 0 when the batch does not exist (nothing changes).

if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
if ARGV[1] == 'approve' then
  redis.call('HSET', KEYS[1], 'approved', 1, 'approvedBy', ARGV[2])
elseif ARGV[1] == 'cancel' then
  redis.call('HSET', KEYS[1], 'cancelled', 1, 'cancelledBy', ARGV[2])
elseif redis.call('SET', KEYS[2], 1, 'NX', 'PX', 86400000) then
  redis.call('HINCRBY', KEYS[1], 'extra', ARGV[3])
end
return 1
