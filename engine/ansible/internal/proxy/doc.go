// Package proxy connects runs of Ansible with the API server. It adds the owner to the objects that a run creates, and records
// the versions of all objects that the run reads and writes, so that the caller can tell later whether one of them has changed.
package proxy
