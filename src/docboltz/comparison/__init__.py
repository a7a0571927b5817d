"""Models side by side on one's own documents: which is best, and of what size?"""
