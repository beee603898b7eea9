// Package author defines the types that pass between the author of an operator and the runtime: the interfaces that a composer can
// implement, and what the author's code reads and declares. The root package exposes them to authors as aliases.
//
// Authors see the methods. The runtime reads what they declared with the functions Declared and Provisioned, so that the types have
// no methods that an author could call by mistake.
package author
