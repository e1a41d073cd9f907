"""Tests against a running gateway, whose address and user are in the environment; `test/client/python.long.test.ts` starts one."""
