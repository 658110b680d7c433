package main

import (
	"errors"
	"io/fs"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// newMan makes the command that writes the manual pages, for packages of distributions.
func newMan() *cobra.Command {
	return &cobra.Command{
		Use:    "man DIR",
		Short:  "Write the manual pages into a folder",
		Hidden: true,
		Args: func(cmd *cobra.Command, args []string) error {
			switch len(args) {
			case 0:
				return usagef("DIR is missing: name the folder for the manual pages")
			case 1:
				return nil
			}
			return tooMany(cmd, args[1], "")
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			info, err := os.Stat(args[0])
			if errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
				return usagef("%s is no folder: make it first", clip(args[0], 60))
			}
			root := cmd.Root()
			root.DisableAutoGenTag = true // the pages depend on the program alone
			return doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: "queuelock", Manual: "queuelock"}, args[0])
		},
	}
}
