package tools

import "context"

func handleDialog() *tool {
	return &tool{
		name: "browser_handle_dialog", title: "Handle a dialog", inModal: true,
		description: "Answer the open alert, confirm, prompt or beforeunload dialog",
		fields: []field{
			{name: "accept", kind: boolean, required: true, description: "Whether to accept it"},
			{name: "promptText", kind: text, description: "What to answer a prompt with"},
		},
		run: runHandleDialog,
	}
}

func runHandleDialog(ctx context.Context, c *call) error {
	dialog := c.page.Dialog()
	if dialog == nil {
		c.fail(`Error: The tool "browser_handle_dialog" can only be used when there is related modal state present.`)
		return nil
	}
	bounded, cancel := context.WithTimeout(ctx, actionLimit)
	defer cancel()
	mark := c.page.Mark()
	if err := c.page.AnswerDialog(bounded, dialog, c.args.boolean("accept"), c.args.text("promptText")); err != nil {
		return err
	}
	settle(ctx, c.page, mark)
	return nil
}
