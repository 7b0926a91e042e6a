-- reject-entries: writes refused inbox entries to the stream of rejections, newest last, bounded.
--
-- Guarantee: an entry that was delivered before (its scheduler died between this script and the acknowledgement) is
-- not written a second time while its first rejection is among the newest 10,000.
--
-- KEYS  1 rejections stream (no TTL; trimmed to about ARGV 1 entries)
-- ARGV  1 entries kept, then for each entry: delivered before (1|0), entry id, field, value, rule, raw
-- Reply entries written

local REJECTED, kept = KEYS[1], tonumber(ARGV[1])
local PAGE, PAGES_MOST = 500, 20

local known
local function is_known(id)
  if not known then
    known = {}
    local last = '+'
    for _ = 1, PAGES_MOST do
      local page = redis.call('XREVRANGE', REJECTED, last, '-', 'COUNT', PAGE)
      for _, entry in ipairs(page) do
        for i = 1, #entry[2], 2 do
          if entry[2][i] == 'entry' then known[entry[2][i + 1]] = true end
        end
      end
      if #page < PAGE then break end
      last = '(' .. page[#page][1]
    end
  end
  return known[id]
end

local written = 0
for i = 2, #ARGV, 6 do
  if ARGV[i] == '0' or not is_known(ARGV[i + 1]) then
    redis.call('XADD', REJECTED, 'MAXLEN', '~', kept, '*', 'entry', ARGV[i + 1], 'field', ARGV[i + 2],
      'value', ARGV[i + 3], 'rule', ARGV[i + 4], 'raw', ARGV[i + 5])
    written = written + 1
  end
end
return written
