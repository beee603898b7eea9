package author

// RolesIn returns the Roles that an operon.Option has, one for each kind that it manages. Package operon sets it, which
// alone knows its interfaces, for packages that run composers without an operator, such as operontest.
var RolesIn func(option any) []any
