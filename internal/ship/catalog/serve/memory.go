package serve

import "runtime/debug"

// trim returns free memory of the heap to the system after queries, or after a cache was built.
func (s *Server) trim() {
	if s.live.used.Swap(false) {
		debug.FreeOSMemory()
	}
}

// release returns the pages of the program file to the system. Most of them contain code that runs once, and the kernel would keep them as
// long as there is free memory. A look at the files of the catalog maps a third of them again, so it is called after each.
func (s *Server) release() {
	if err := releaseCode(); err != nil {
		s.unreleased.Do(func() { s.report("the server uses more memory than necessary: " + err.Error()) })
	}
}
