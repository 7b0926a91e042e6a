-- publish-policy: stores a policy text as the next version.
--
-- Guarantee: versions only grow, each belongs to one text, and the text that is in force already keeps its version:
-- publishing it again, from any number of schedulers, changes nothing.
--
-- KEYS  1 policy  hash  version, hash, text, name, at (ms), by; no TTL
-- ARGV  1 hash (SHA-256 of the text)  2 text  3 name of the file  4 by  5 channel  6 time (ms; '': Redis TIME)
-- Reply version, 1 when it is new

-- @include clock
-- @include packed

local POLICY = KEYS[1]
local hash, text, name, by, channel, time = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6]
local stored = redis.call('HMGET', POLICY, 'version', 'hash')
local version = tonumber(stored[1] or 0)
if stored[2] == hash then return { version, 0 } end
version = version + 1
redis.call('HSET', POLICY, 'version', version, 'hash', hash, 'text', text, 'name', name, 'by', by, 'at', clock(time))
redis.call('PUBLISH', channel, version)
return { version, 1 }
