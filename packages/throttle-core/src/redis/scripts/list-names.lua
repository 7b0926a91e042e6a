-- list-names: a page of an index (hosts or batches) in the order of its names, without those whose state has expired.
-- Expired names met on the way leave the index.
--
-- KEYS  1 index zset
-- ARGV  1 prefix of the keys behind the names  2 after this name ('': from the start)  3 most names
-- Reply next cursor|'', names...
-- The keys behind the names are known by the index only; they share the hash tag.

local names = redis.call('ZRANGEBYLEX', KEYS[1], ARGV[2] == '' and '-' or '(' .. ARGV[2], '+', 'LIMIT', 0, ARGV[3])
local answer = { #names < tonumber(ARGV[3]) and '' or names[#names] or '' }
for _, name in ipairs(names) do
  if redis.call('EXISTS', ARGV[1] .. name) == 1 then
    answer[#answer + 1] = name
  else
    redis.call('ZREM', KEYS[1], name)
  end
end
return answer
