package local

import (
	"fmt"
	"os"
	"path/filepath"
)

// Home returns the directory of all of Operon's state: $OPERON_HOME, or .operon in the user's home directory. It
// need not exist.
func Home() (string, error) {
	if home := os.Getenv("OPERON_HOME"); home != "" {
		return filepath.Abs(home)
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("find the directory for Operon's state: %w; set OPERON_HOME", err)
	}
	return filepath.Join(home, ".operon"), nil
}

// Folder returns the path of a directory below Home. If the directory does not exist, it is created for the
// current user only.
func Folder(elements ...string) (string, error) {
	home, err := Home()
	if err != nil {
		return "", err
	}
	folder := filepath.Join(append([]string{home}, elements...)...)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", fmt.Errorf("create the directory for Operon's state: %w; OPERON_HOME names another place", err)
	}
	return folder, nil
}
