package node

import "errors"

// ErrDied is of a node whose process ended without telling why: its log may.
var ErrDied = errors.New("the node's process died")
