package recovery

import "time"

// DefaultMaxAge is for how long nodes count as not ready after that was last certain.
const DefaultMaxAge = 10 * time.Minute
