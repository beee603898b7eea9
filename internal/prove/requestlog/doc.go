// Package requestlog records the requests of an operator as data: each [Request] with its verb and object, who wrote,
// the resource versions before and after, how long it took, what was answered, a hash of what was sent, and whether
// it changed something.
//
//	Of        reads a request's line and headers, as the API server's own authoriser does
//	MetaOf    finds the metadata in a body, JSON or protobuf, also where only its beginning is there
//	Log       holds the last requests in bounded memory
//
// No body is kept, only its hash: what passes may be a Secret.
package requestlog
