-- create-batch: creates a batch before its first job, or finds it.
--
-- KEYS  1 batch string  2 batches zset
-- ARGV  1 batch  2 time (ms; '': Redis TIME)  3.. batch defaults (fragments/batch-create.lua)
-- Reply created 1|0
-- Untouched when it exists: everything; its numbers are changed by change-batch only.

-- @include clock
-- @include packed
-- @include batch-state
-- @include batch-create

local b, created = batch_create(KEYS[1], KEYS[2], ARGV[1], 3, clock(ARGV[2]))
if created then packed_write(b) end
return created and 1 or 0
