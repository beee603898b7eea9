// Package instance manages local clusters by name: each is a process of its own with a
// folder of its own, $OPERON_HOME/clusters/NAME.
//
// Whether a cluster runs is told by a lock that its process holds on a file in that
// folder, never by a pid file, so that a process killed with -9 leaves a folder that the
// next start recognises as stale and clears. Everything that a cluster makes lies in the
// folder, except for the state that its user asked to keep with a data folder.
package instance
