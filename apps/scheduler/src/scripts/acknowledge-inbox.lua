-- acknowledge-inbox: the entries are done with: they leave the group's pending list and the stream.
--
-- Guarantee: both at once, and once; an entry that is gone already is no fault.
--
-- KEYS  1 inbox stream
-- ARGV  1 group  2.. entry ids
-- Reply entries removed now

local removed = 0
for i = 2, #ARGV do
  redis.call('XACK', KEYS[1], ARGV[1], ARGV[i])
  removed = removed + redis.call('XDEL', KEYS[1], ARGV[i])
end
return removed
