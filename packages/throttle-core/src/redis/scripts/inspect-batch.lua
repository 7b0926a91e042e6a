-- inspect-batch: everything known of a batch. Changes nothing.
--
-- KEYS  1 batch string
-- Reply {} when unknown, else field value pairs (stops by reason under `stop:`)

-- @include packed
-- @include flatten

local b = packed_read(KEYS[1], {})
if not b.meta.known then return {} end
return flatten(b.stops or {}, 'stop:', flatten(b, '', {}))
