package report

import "github.com/operon-framework/operon/internal/tools/terminal"

// Look describes how text is written to a terminal, a file or a log.
type Look = terminal.Look

// DefaultWidth is the width for files and logs.
const DefaultWidth = terminal.DefaultWidth

const plain, bold, dim, red, green, yellow = "", terminal.Bold, terminal.Dim, terminal.Red, terminal.Green, terminal.Yellow
