package engines

// openEmbedded has nothing to open yet: internal/embedded is on its way.
func openEmbedded() (*running, error) {
	return nil, missingError{"the embedded engine is not part of this build"}
}
