package recorder

import "time"

// timing: how long no events are sent to a namespace in which the operator has no permission. After it, a permission that was added is found.
const askAgain = 10 * time.Minute
