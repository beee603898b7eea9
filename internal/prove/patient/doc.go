// Package patient repeats requests of `operon prove` that fail temporarily, but not those of the operator under test. A restart of the API server,
// a new leader of etcd or a broken connection therefore does not end a session, while what the operator does after an error remains
// part of the test.
//
// client-go repeats requests only after a response with the header Retry-After, and reads after some network errors.
package patient
