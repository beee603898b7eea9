// Package author defines the types that are passed between the author of an operator and the runtime: the roles that
// a composer may have, and what the author's code is given to read and to declare. The root package shows it to
// authors by aliases.
//
// Authors see the methods. What they declared is read by the functions Declared and Provisioned, so
// that the types have no methods that an author could call by mistake.
package author
