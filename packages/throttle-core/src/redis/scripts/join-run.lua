-- join-run: a job whose run is over for it joins a later run of the same work, under its old id.
--
-- Guarantee: the job is counted in the new batch once, its life counters stay, and its first attempt there is not a
-- re-send. What it took of the old batch stays there. It holds no lease then, so nobody can settle for it meanwhile.
--
-- KEYS  1 job string  2 batch string it leaves  3 batch string it joins  4 trail list
-- ARGV  1 batch it leaves  2 batch it joins  3 time (ms; '': Redis TIME)  4 ms an ended ledger is kept
-- Reply joined|already|no
-- Untouched on already and no: everything.

-- @include clock
-- @include packed
-- @include ledger
-- @include batch-state

local j = ledger_read(KEYS[1])
if not j.meta.known or j.e ~= '' then return 'no' end
if j.b == ARGV[2] then return 'already' end
if j.b ~= ARGV[1] or j.aw ~= 1 or j.l ~= '' then return 'no' end
local old, new = batch_read(KEYS[2]), batch_read(KEYS[3])
if not new.meta.known or new.cancelled == 1 or old.cancelled == 1 then return 'no' end
old.away, old.moved = old.away - 1, old.moved + 1
new.jobs = new.jobs + 1
j.b, j.aw, j.jn, j.s, j.tr = ARGV[2], nil, 1, nil, 1
packed_write(j)
trail(KEYS[4], clock(ARGV[3]), 'joined', 'run ' .. ARGV[2] .. ', from ' .. ARGV[1])
batch_write(old, tonumber(ARGV[4]))
packed_write(new)
return 'joined'
