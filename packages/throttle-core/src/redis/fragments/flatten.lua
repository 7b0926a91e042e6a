-- A state as alternating names and texts; `under` names what is nested: pace:phase, stop:blocked.
local function flatten(state, under, out)
  for name, value in pairs(state) do
    if type(value) == 'number' then value = string.format('%.17g', value) end
    if type(value) == 'string' then
      out[#out + 1] = under .. name
      out[#out + 1] = value
    end
  end
  return out
end
