package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/operon-framework/operon/internal/tools/project"
)

// shells are the shells for which completion is available.
var shells = []string{"bash", "zsh", "fish", "powershell"}

func newCompletion() *cobra.Command {
	return &cobra.Command{
		Use:   "completion SHELL",
		Short: "Print a script that completes operon's commands and flags: " + strings.Join(shells, ", "),
		Long: `Print a script with which a shell completes operon's commands, flags and their values. Load it when
the shell starts: for bash, from ~/.bashrc.`,
		Example: `  operon completion bash > ~/.local/share/bash-completion/completions/operon
  operon completion zsh > ~/.zfunc/_operon
  operon completion fish > ~/.config/fish/completions/operon.fish
  operon completion powershell > operon.ps1`,
		ValidArgs: shells,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 || !slices.Contains(shells, args[0]) {
				return usageError{fmt.Errorf("want one shell of %s, got %q", strings.Join(shells, ", "), args)}
			}
			return nil
		},
		RunE: func(command *cobra.Command, args []string) error {
			root, out := command.Root(), command.OutOrStdout()
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(out, true)
			case "zsh":
				return root.GenZshCompletion(out)
			case "fish":
				return root.GenFishCompletion(out, true)
			}
			return root.GenPowerShellCompletionWithDesc(out)
		},
	}
}

// completeWith offers words for a flag.
func completeWith(command *cobra.Command, flag string, words ...string) {
	_ = command.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
}

// completeKinds offers the kinds of the project in the directory of --dir for flags that name a kind.
func completeKinds(command *cobra.Command) {
	words := map[string]func(project.Kind) string{
		"kind":  func(k project.Kind) string { return k.Name },
		"group": func(k project.Kind) string { return k.Group },
	}
	for flag, word := range words {
		_ = command.RegisterFlagCompletionFunc(flag, func(command *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
			dir, _ := command.Flags().GetString("dir")
			kinds, _ := project.Kinds(dir)
			var found []string
			for _, kind := range kinds {
				found = append(found, word(kind))
			}
			slices.Sort(found)
			return slices.Compact(found), cobra.ShellCompDirectiveNoFileComp
		})
	}
}
