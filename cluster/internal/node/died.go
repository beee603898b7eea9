package node

import "errors"

// ErrDied means that the process of a node ended without reporting a reason. Its log may contain it.
var ErrDied = errors.New("the node's process died")
