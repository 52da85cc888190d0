//! What an agent loop needs around a conversation.
