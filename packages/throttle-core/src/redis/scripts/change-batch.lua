-- change-batch: approves, cancels or tops up a batch. Idempotent: by state, and a top-up by its nonce.
--
-- KEYS  1 batch string  2 reply string of the nonce; TTL 1 day
-- ARGV  1 approve|cancel|top_up  2 by  3 tokens (whole, at least 0)
-- Reply 1, or 0 when the batch does not exist (nothing changes).

-- @include packed
-- @include batch-state

local b = batch_read(KEYS[1])
if not b.meta.known then return 0 end
if ARGV[1] == 'approve' then
  b.approved, b.approvedBy = 1, ARGV[2]
elseif ARGV[1] == 'cancel' then
  b.cancelled, b.cancelledBy = 1, ARGV[2]
elseif redis.call('SET', KEYS[2], 1, 'NX', 'PX', 86400000) then
  b.extra = b.extra + tonumber(ARGV[3])
end
local ttl = redis.call('PTTL', KEYS[1])
packed_write(b, ttl > 0 and ttl or nil)
return 1
