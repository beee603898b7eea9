// Package instance manages local clusters by name. Each is a process with a directory, $OPERON_HOME/clusters/NAME.
//
// A cluster runs if its process holds a lock on a file beside that directory. There is no PID file: if a process was killed
// with -9, the next start detects that its directory is stale and clears it. All files of a cluster are in the directory,
// except the locks, the log of a crash and the state that its user retains in a data directory.
package instance
