package deploy

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
)

// Commands are the commands and flags that messages refer to. All fields are required, except GiveUp.
type Commands struct {
	// Deploy and Undeploy are the commands, and OfProject reports that they have the arguments DIR and --main.
	Deploy, Undeploy string
	OfProject        bool
	// DeleteData is the flag of Undeploy that deletes the CRDs and the custom resources, and GiveUp the one that removes finalizers, if it has one.
	DeleteData, GiveUp string
	// Logs is where users find the logs of the operator.
	Logs string
}

// userCommands are those for the operators of users.
var userCommands = Commands{
	Deploy: "operon deploy", Undeploy: "operon undeploy", OfProject: true, DeleteData: "--delete-data", GiveUp: "--give-up-finalizers", Logs: "`operon logs`",
}

// commands returns the commands for the operators of users, unless the target has others.
func (t Target) commands() Commands { return cmp.Or(t.Commands, userCommands) }

// undeployment returns the command that removes this deployment, whatever the current directory and the settings of the project are.
func (t Target) undeployment() string {
	commands := t.commands()
	words := []string{commands.Undeploy}
	if commands.OfProject && t.Dir != "" && t.Dir != "." {
		words = append(words, quote(t.Dir))
	}
	flags := [][2]string{{"--namespace", t.Namespace}, {"--cluster", t.Where.Name}, {"--kubeconfig", t.Where.Kubeconfig}, {"--context", t.Where.Context}}
	if commands.OfProject {
		flags = append(flags, [2]string{"--main", t.Main})
	}
	for _, flag := range flags {
		if flag[1] != "" {
			words = append(words, flag[0], quote(flag[1]))
		}
	}
	return strings.Join(words, " ")
}

// plain matches words that shells read as they are.
var plain = regexp.MustCompile(`^[\w@%+=:,./-]+$`)

// quote returns a word as it has to be typed in a shell.
func quote(word string) string {
	if plain.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// unattended returns what to do if custom resources wait for an operator that does not run.
func (c Commands) unattended() string {
	text := fmt.Sprintf("start the operator again with `%s`", c.Deploy)
	if c.GiveUp == "" {
		return text
	}
	return text + fmt.Sprintf(", or remove the finalizers with %s: external resources that the operator would have cleaned up then remain", c.GiveUp)
}

// held returns what to do if finalizers are not cleared in time.
func (c Commands) held() string {
	text := fmt.Sprintf("see in %s why the operator does not clear the finalizers, and run `%s` again", c.Logs, c.Undeploy)
	if c.GiveUp == "" {
		return text
	}
	return text + fmt.Sprintf("; %s removes them, and what the operator would have cleaned up outside of the cluster remains", c.GiveUp)
}
